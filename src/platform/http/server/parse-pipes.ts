import * as common from '@nestjs/common';

const OWN_MESSAGE = /^Validation failed \((.+)\)$/;

/**
 * Makes ParseIntPipe and the like name the parameter in their 400. An exception filter cannot, because
 * it does not get the parameter. It relies on `transform`, which NestJS calls with the name of the
 * parameter, and on the message of the pipes. If a release of NestJS changes these, callers get a 400
 * without the name, and test/http/features.test.ts fails.
 */
for (const [name, { prototype }] of Object.entries(common) as [string, common.Type][]) {
  if (!/^Parse\w+Pipe$/.test(name)) continue;
  const pipe = prototype as { transform: common.PipeTransform<unknown, unknown>['transform'] };
  const { transform } = pipe;
  pipe.transform = async function (value, metadata) {
    try {
      return await transform.call(this, value, metadata);
    } catch (cause) {
      if (!(cause instanceof common.HttpException) || metadata.data === undefined) throw cause;
      const [, reason] = OWN_MESSAGE.exec(cause.message) ?? [];
      if (reason === undefined) throw cause;
      const message = `${metadata.data} is not valid: ${reason}.`;
      throw new common.HttpException(message, cause.getStatus(), { cause });
    }
  };
}
