export const PET_STATUSES = ['available', 'pending', 'sold'] as const;

/** Where an animal is on its way to a new home. */
export type PetStatus = (typeof PET_STATUSES)[number];
