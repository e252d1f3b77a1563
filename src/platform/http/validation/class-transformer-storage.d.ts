/** The metadata of class-transformer's decorators. `@nestjs/mapped-types` reads the same module. */
declare module 'class-transformer/cjs/storage.js' {
  export { defaultMetadataStorage } from 'class-transformer/types/storage.js';
}
