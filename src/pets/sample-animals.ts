import type { NewPet } from './dto/new-pet.dto.js';

/** The animals of a new embedded database. */
export const SAMPLE_ANIMALS: NewPet[] = [
  { name: 'Frank', categoryId: 1n, status: 'available' },
  { name: 'Luna', categoryId: 2n, status: 'available' },
  { name: 'Biscuit', categoryId: 1n, status: 'pending' },
  { name: 'Kiwi', categoryId: 3n, status: 'available' },
  { name: 'Clementine', categoryId: 2n, status: 'sold' },
  { name: 'Hopper', categoryId: 4n, status: 'pending' },
];
