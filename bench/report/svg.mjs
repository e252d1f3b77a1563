// @ts-check

/** @param {string} text @returns {string} the text for an element of an SVG */
export function escapeXml(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
