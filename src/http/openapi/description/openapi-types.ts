import type { OpenAPIObject } from '@nestjs/swagger';

// Types that @nestjs/swagger does not export.
type Components = NonNullable<OpenAPIObject['components']>;
export type PathItem = OpenAPIObject['paths'][string];
export type Operation = NonNullable<PathItem['get']>;
export type Parameter = Exclude<NonNullable<Components['parameters']>[string], Reference>;
export type Response = Exclude<NonNullable<Components['responses']>[string], Reference>;
export type Header = Exclude<NonNullable<Components['headers']>[string], Reference>;
export type Headers = NonNullable<Response['headers']>;

export interface Reference {
  $ref: string;
}

/** Returns the operations of a path, by method. */
export function operationsOf(pathItem: PathItem): [method: string, operation: Operation][] {
  return Object.entries(pathItem).filter((entry): entry is [string, Operation] =>
    Object.hasOwn(entry[1] as object, 'responses'),
  );
}
