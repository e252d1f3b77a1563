/** An animal of the demo data. */
export interface SampleAnimal {
  name: string;
  categoryId: number;
  status: 'available' | 'pending' | 'sold';
}

export const SAMPLE_ANIMALS: readonly SampleAnimal[] = [
  { name: 'Frank', categoryId: 1, status: 'available' },
  { name: 'Luna', categoryId: 2, status: 'available' },
  { name: 'Biscuit', categoryId: 1, status: 'pending' },
  { name: 'Kiwi', categoryId: 3, status: 'available' },
  { name: 'Clementine', categoryId: 2, status: 'sold' },
  { name: 'Hopper', categoryId: 4, status: 'pending' },
];
