import { parsePayload, payloadText } from '../../src/platform/events/event-payload.js';

describe('the payload of an event', () => {
  it.each([
    null,
    true,
    1.5,
    'a\u0000b',
    -9223372036854775808n,
    [1n, '1', 1],
    { id: 9007199254740993n, nested: [{ ids: [1n, 2n] }], none: null },
    { $: '$', sent: ['$1', '$$1', '$-2', -2n, '1$', ''] },
  ])('is the same for the handler: %p', (payload) => {
    expect(parsePayload(payloadText(payload))).toEqual(payload);
  });

  it('is null if undefined, and dates are text', () => {
    expect(parsePayload(payloadText(undefined))).toBeNull();
    expect(parsePayload(payloadText(new Date(0)))).toBe('1970-01-01T00:00:00.000Z');
  });
});
