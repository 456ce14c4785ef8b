/* Dash adds style elements from its scripts. They carry the page's nonce, so the policy needs no 'unsafe-inline'. */
(function () {
  "use strict";
  const meta = document.querySelector('meta[name="style-nonce"]');
  if (!meta) return;
  const nonce = meta.content;
  meta.remove();
  const create = Document.prototype.createElement;
  document.createElement = function (name, options) {
    const element = create.call(document, name, options);
    if (element instanceof HTMLStyleElement) element.nonce = nonce;
    return element;
  };
})();
