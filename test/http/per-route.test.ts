import type { ExecutionContext } from '@nestjs/common';
import { perRoute } from '../../src/platform/http/request/request-context.js';

const Parent = { name: 'Parent' };
const Child = { name: 'Child' };
const handler = (): void => undefined;
const other = (): void => undefined;

const route = (controller: object, handler: object): ExecutionContext =>
  ({ getClass: () => controller, getHandler: () => handler }) as unknown as ExecutionContext;

it('reads each route once, including a handler that a controller inherits', () => {
  const read = jest.fn(
    (context: ExecutionContext) => `${context.getClass().name}.${context.getHandler().name}`,
  );
  const nameOf = perRoute(read);

  for (let time = 0; time < 2; time++) {
    expect(nameOf(route(Parent, handler))).toBe('Parent.handler');
    expect(nameOf(route(Parent, other))).toBe('Parent.other');
    expect(nameOf(route(Child, handler))).toBe('Child.handler');
  }
  expect(read).toHaveBeenCalledTimes(3);
});

it('caches undefined', () => {
  const read = jest.fn(() => undefined);
  const nothing = perRoute(read);

  nothing(route(Parent, handler));
  nothing(route(Parent, handler));

  expect(read).toHaveBeenCalledTimes(1);
});
