import type { OpenAPIObject } from '@nestjs/swagger';

// Types that @nestjs/swagger does not export.
export type Components = NonNullable<OpenAPIObject['components']>;
export type PathItem = OpenAPIObject['paths'][string];
export type Operation = NonNullable<PathItem['get']>;
export type Parameter = Exclude<NonNullable<Components['parameters']>[string], Reference>;
export type Response = Exclude<NonNullable<Components['responses']>[string], Reference>;
export type Header = Exclude<NonNullable<Components['headers']>[string], Reference>;
export type Headers = NonNullable<Response['headers']>;
export type Schema = Exclude<NonNullable<Components['schemas']>[string], Reference>;

export interface Reference {
  $ref: string;
}
