import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { Module, NotFoundException } from '@nestjs/common';
import { Field, GraphQLModule, Int, ObjectType, Query, Resolver } from '@nestjs/graphql';

@ObjectType()
export class Breed {
  @Field(() => Int)
  id!: number;

  @Field()
  name!: string;
}

@Resolver(() => Breed)
export class BreedsResolver {
  @Query(() => [Breed])
  breeds(): Breed[] {
    return [{ id: 1, name: 'Collie' }];
  }

  @Query(() => Breed)
  missing(): Breed {
    throw new NotFoundException('No such breed.');
  }

  @Query(() => Breed)
  broken(): Breed {
    throw new Error('a secret');
  }
}

@Module({
  imports: [
    GraphQLModule.forRoot<ApolloDriverConfig>({ driver: ApolloDriver, autoSchemaFile: true }),
  ],
  providers: [BreedsResolver],
})
export class BreedsModule {}
