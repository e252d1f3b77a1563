import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CORE_SCHEMA, load, mergeTag } from 'js-yaml';

/** The properties in docker-compose.yml that tests use. */
interface ComposeFile {
  services: Record<
    string,
    {
      environment?: Record<string, string | number>;
      stop_grace_period?: string;
      init?: boolean;
    }
  >;
}

export function readProjectFile(path: string): string {
  return readFileSync(join(__dirname, '../../..', path), 'utf8');
}

/** Reads a file as Compose does without variables: `${NAME:-text}` is the text. */
export function readComposeFile(path = 'docker-compose.yml'): ComposeFile {
  const text = readProjectFile(path)
    .replaceAll(/\$\{\w+:-(.*?)\}/g, '$1')
    .replaceAll(/\$\{\w+:\+.*?\}/g, '');
  return load(text, { schema: CORE_SCHEMA.withTags(mergeTag) }) as ComposeFile;
}
