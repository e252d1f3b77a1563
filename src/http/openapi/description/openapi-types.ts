import type { OpenAPIObject } from '@nestjs/swagger';

// Types that @nestjs/swagger does not export.
export type Components = NonNullable<OpenAPIObject['components']>;
export type PathItem = OpenAPIObject['paths'][string];
export type Operation = NonNullable<PathItem['get']>;
export type Parameter = Exclude<NonNullable<Components['parameters']>[string], Reference>;
export type Response = Exclude<NonNullable<Components['responses']>[string], Reference>;
export type Header = Exclude<NonNullable<Components['headers']>[string], Reference>;
export type Headers = NonNullable<Response['headers']>;

export interface Reference {
  $ref: string;
}

export const METHODS = [
  'get',
  'put',
  'post',
  'delete',
  'options',
  'head',
  'patch',
  'trace',
] as const;
export type Method = (typeof METHODS)[number];

/** Returns the operations of a path, by method. */
export function operationsOf(pathItem: PathItem): [method: Method, operation: Operation][] {
  return METHODS.flatMap((method) => {
    const operation = pathItem[method];
    return operation ? [[method, operation]] : [];
  });
}
