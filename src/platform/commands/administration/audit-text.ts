import { jsonText } from '../../http/response/json-text.js';

type Details = Readonly<Record<string, unknown>>;

const text = (value: unknown) => (typeof value === 'string' ? value : jsonText(value));
const count = (value: unknown) => (Array.isArray(value) ? value.length : 0);

const expiry = ({ expiresAt }: Details) =>
  expiresAt ? `, expires ${text(expiresAt).slice(0, 10)}` : '';

/** The changes of owners, API keys and the schema. */
const SENTENCES: Readonly<Record<string, (details: Details) => string>> = {
  'keys issue': (details) =>
    `issued key ${text(details['keyId'])}${details['isNewOwner'] ? ' to a new owner' : ''}, plan ${text(details['plan'])}${expiry(details)}`,
  'keys change': (details) =>
    `changed the ${(details['changed'] as string[]).join(', ')} of key ${text(details['keyId'])}`,
  'keys rotate': (details) =>
    `replaced key ${text(details['keyId'])} by key ${text(details['newKeyId'])}${expiry(details)}`,
  'keys revoke': ({ keyId }) => `revoked key ${text(keyId)}`,
  'keys unban': ({ keyId, wasBanned }) => {
    if (wasBanned === undefined) return `unbanned key ${text(keyId)}`;
    const change = wasBanned ? 'ended the ban' : 'restarted the count of rejections';
    return `${change} of key ${text(keyId)}`;
  },
  'owners set-plan': ({ previousPlan, plan }) =>
    `changed the plan from ${text(previousPlan)} to ${text(plan)}`,
  'owners rename': ({ previousName }) => `renamed the owner, who was "${text(previousName)}"`,
  'owners remove': ({ revokedKeyIds }) =>
    `removed the owner and revoked ${count(revokedKeyIds)} unused keys`,
  'db migrate': ({ migrations }) => `executed ${count(migrations)} migrations`,
};

const PAST: Readonly<Record<string, string>> = {
  change: 'changed',
  update: 'updated',
  remove: 'removed',
  import: 'imported',
};

/**
 * Returns what an operator did, such as `changed the status of 15 animals`. An action of a feature has
 * such words if it is `NOUNS change`, `update`, `remove` or `import`, and its details have the ids of the
 * rows as `ids`, or their number as `added` or `removed`. All others are shown as they are recorded.
 */
export function changeText(action: string, details: Details): string {
  const sentence = SENTENCES[action];
  if (sentence) return sentence(details);
  const [nouns = '', verb = ''] = action.split(' ');
  const past = PAST[verb];
  const { ids, added, removed, changed, firstId, lastId } = details;
  const number = added ?? removed ?? (Array.isArray(ids) ? ids.length : undefined);
  if (past === undefined || number === undefined) return `${action} ${jsonText(details)}`;
  const properties = Array.isArray(changed) ? `the ${changed.join(', ')} of ` : '';
  const noun = Number(number) === 1 ? nouns.replace(/s$/, '') : nouns;
  const range = firstId === undefined ? '' : `, ids ${text(firstId)} to ${text(lastId)}`;
  return `${past} ${properties}${text(number)} ${noun}${range}`;
}
