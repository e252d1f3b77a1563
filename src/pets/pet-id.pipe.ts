import { Injectable, type PipeTransform } from '@nestjs/common';
import { parseInt64 } from '../http/validation/int64.js';
import { petNotFound } from './pets.service.js';

/** Reads an animal's id out of a path. What is not a canonical int64 names no animal. */
@Injectable()
export class PetIdPipe implements PipeTransform<string, bigint> {
  /** @throws ServiceError pet_not_found */
  transform(text: string): bigint {
    const id = parseInt64(text);
    if (id === undefined) throw petNotFound();
    return id;
  }
}
