export const PET_STATUSES = ['available', 'pending', 'sold'] as const;

/** The adoption status of an animal. */
export type PetStatus = (typeof PET_STATUSES)[number];
