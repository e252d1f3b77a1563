import type { ValidationError } from 'class-validator';

/** How class-validator begins the message of a rule with `{ each: true }`. */
const EACH = 'each value in ';

/** An array can have hundreds of invalid items. */
const MAX_PROPERTIES = 50;

/**
 * Returns the message of a 400: one sentence that lists the first 50 invalid properties and the
 * values that they accept. Nested ones are paths: `items.0.name`.
 */
export function validationMessage(errors: readonly ValidationError[]): string {
  const messages = errors.flatMap((error) => messagesOf(error, ''));
  const listed = messages.slice(0, MAX_PROPERTIES);
  if (messages.length > listed.length) listed.push(`and ${messages.length - listed.length} more`);
  return `${listed.join('; ')}.`;
}

function messagesOf(error: ValidationError, parentPath: string): string[] {
  const { property, constraints, children = [] } = error;
  const path = parentPath + property;
  const [message] = Object.values(constraints ?? {});
  if (message === undefined) {
    const nested = children.flatMap((child) => messagesOf(child, `${path}.`));
    return nested.length > 0 ? nested : [`${path} is invalid`];
  }
  const rule = message.replace(EACH, '').replace(`${property} `, '');
  if (error.value === undefined) return [`${path} is required and ${rule}`];
  return [message.startsWith(EACH) ? `each item of ${path} ${rule}` : `${path} ${rule}`];
}
