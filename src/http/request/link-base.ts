/** Injection token: what URLs in Link fields begin with: PUBLIC_URL, or '' for relative references. */
export const LINK_BASE = Symbol('link base');
