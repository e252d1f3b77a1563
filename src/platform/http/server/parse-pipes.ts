import {
  type ArgumentMetadata,
  HttpException,
  ParseBoolPipe,
  ParseDatePipe,
  ParseEnumPipe,
  ParseFloatPipe,
  ParseIntPipe,
  ParseUUIDPipe,
  type PipeTransform,
} from '@nestjs/common';

const OWN_MESSAGE = /^Validation failed \((.+)\)$/;

/**
 * Makes the pipes of NestJS name the parameter in their 400. An exception filter cannot: it does not
 * get the parameter, and callers would have to guess. It relies on `transform`, which NestJS calls
 * with the name of the parameter, and on the pipes' own message. If a release of NestJS changes these,
 * test/http/features.test.ts fails, and callers get a 400 without the name.
 */
for (const { prototype } of [
  ParseBoolPipe,
  ParseDatePipe,
  ParseEnumPipe,
  ParseFloatPipe,
  ParseIntPipe,
  ParseUUIDPipe,
]) {
  const pipe = prototype as PipeTransform<unknown, unknown>;
  const { transform } = pipe;
  pipe.transform = async function (value: unknown, metadata: ArgumentMetadata) {
    try {
      return await transform.call(this, value, metadata);
    } catch (cause) {
      const { data } = metadata;
      const reason = cause instanceof HttpException ? OWN_MESSAGE.exec(cause.message)?.[1] : null;
      if (data === undefined || reason == null) throw cause;
      const status = (cause as HttpException).getStatus();
      throw new HttpException(`${data} is not valid: ${reason}.`, status, { cause });
    }
  };
}
