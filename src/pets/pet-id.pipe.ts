import { Injectable, type PipeTransform } from '@nestjs/common';
import { parseInt64 } from '../http/validation/int64.js';
import { petNotFound } from './pets.errors.js';

/** Parses an animal's id in a path. A text that is not a canonical int64 identifies no animal. */
@Injectable()
export class PetIdPipe implements PipeTransform<string, bigint> {
  /** @throws ServiceError pet_not_found */
  transform(text: string): bigint {
    const id = parseInt64(text);
    if (id === undefined) throw petNotFound();
    return id;
  }
}
