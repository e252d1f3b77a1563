import ts from 'typescript';

const FILE = `${__dirname}/manifests.ts`;

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
}

/**
 * Compares manifests with the types of the Kubernetes API. Returns the errors: unknown members,
 * missing members, and values of a wrong type.
 */
export function manifestErrors(manifests: readonly Manifest[]): string[] {
  const source = manifests
    .map((manifest, index) => {
      const { apiVersion, kind } = manifest;
      const name = apiVersion.replace('.k8s.io/', '/');
      const module = name.includes('/') ? name : `core/${name}`;
      const type = `import('kubernetes-types/${module}').${kind}`;
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
