import jestConfig from '../jest.config.js';

test.each([
  ['/a/node_modules/@nestjs/core/index.js', true],
  ['/a/node_modules/.pnpm/@nestjs+core@12.5.1_ab/node_modules/@nestjs/core/index.js', true],
  ['/a/node_modules/.store/p-retry@7.1.1-ab/node_modules/p-retry/index.js', true],
  ['/a/node_modules/@nestjs/cli/node_modules/ora/index.js', false],
  ['/a/node_modules/.pnpm/pg@8.23.1/node_modules/pg/lib/index.js', false],
])('Jest compiles packages that are ES modules, wherever they are: %s %s', (path, isCompiled) => {
  for (const { transformIgnorePatterns } of jestConfig.projects as {
    transformIgnorePatterns: string[];
  }[]) {
    const isIgnored = transformIgnorePatterns.some((pattern) => new RegExp(pattern).test(path));
    expect(isIgnored).toBe(!isCompiled);
  }
});
