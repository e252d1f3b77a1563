import { createRequire } from 'node:module';
import ts from 'typescript';

const FILE = `${__dirname}/manifests.ts`;

/** Each has a type and a JSON Schema of every kind: of Kubernetes, and of operators' own kinds. */
const PACKAGES = [
  'kubernetes-models',
  '@kubernetes-models/prometheus-operator',
  '@kubernetes-models/cloudnative-pg',
];

const require = createRequire(__filename);

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
}

/**
 * Compares manifests with the schemas of their kinds. Returns the errors: kinds without a schema,
 * unknown members, missing members, and invalid values.
 */
export function manifestErrors(manifests: readonly Manifest[]): string[] {
  const modules = manifests.map(({ apiVersion, kind }) =>
    PACKAGES.map((name) => `${name}/${apiVersion}/${kind}`).find(exists),
  );
  const without = manifests.filter((_, index) => modules[index] === undefined);
  const known = manifests.flatMap((manifest, index) => {
    const module = modules[index];
    return module === undefined ? [] : [{ manifest, module }];
  });
  return [
    ...without.map(({ apiVersion, kind }) => `No package has a schema for ${apiVersion} ${kind}`),
    ...known.flatMap(({ manifest, module }) => invalidValues(manifest, module)),
    ...typeErrors(known),
  ];
}

function exists(module: string): boolean {
  try {
    return require.resolve(module) !== '';
  } catch {
    return false;
  }
}

/** By the JSON Schema. It allows unknown members. */
function invalidValues(manifest: Manifest, module: string): string[] {
  type Model = new (manifest: Manifest) => { validate(): void };
  const { [manifest.kind]: Kind } = require(module) as Record<string, Model>;
  try {
    new Kind!(manifest).validate();
    return [];
  } catch (error) {
    return [`${manifest.kind} ${manifest.metadata.name}: ${(error as Error).message}`];
  }
}

/** By the type, which has no unknown members. */
function typeErrors(known: readonly { manifest: Manifest; module: string }[]): string[] {
  const source = known
    .map(({ manifest, module }, index) => {
      const type = `import('${module}').I${manifest.kind}`;
      return `export const manifest${index}: ${type} = ${JSON.stringify(manifest)};`;
    })
    .join('\n');
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    module: ts.ModuleKind.NodeNext,
    types: [],
  };
  const host = ts.createCompilerHost(options);
  const program = ts.createProgram([FILE], options, {
    ...host,
    readFile: (path) => (path === FILE ? source : host.readFile(path)),
    fileExists: (path) => path === FILE || host.fileExists(path),
    getSourceFile: (path, ...rest) =>
      path === FILE
        ? ts.createSourceFile(path, source, ts.ScriptTarget.ES2023)
        : host.getSourceFile(path, ...rest),
  });
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}
