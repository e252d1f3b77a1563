import { applyDecorators } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
} from '@nestjs/swagger';
import { PUBLIC_MESSAGES } from '../platform/errors/public-messages.js';
import { ApiErrors } from '../platform/http/openapi/decorators/api-errors.decorator.js';
import {
  ApiInt64Param,
  ApiJsonBody,
} from '../platform/http/openapi/decorators/api-json.decorator.js';
import { ApiPage } from '../platform/http/openapi/decorators/api-model.decorator.js';
import { CATEGORY_NAME_TAKEN, CATEGORY_NOT_FOUND } from './categories.errors.js';
import { Category } from './category.entity.js';
import { CategoryChanges } from './dto/category-changes.dto.js';
import { NewCategory } from './dto/new-category.dto.js';

const CATS = { id: 1, name: 'Cats', description: 'Felis catus.' };
const DOGS = { id: 2, name: 'Dogs', description: null };

const INVALID_NAME =
  'name must be a string of 1 to 100 characters, at least one of them not white space, without NUL or lone surrogates.';

export function DescribeListCategories(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'listCategories',
      summary: 'List categories',
      description: 'Returns a page of categories in ascending order of name, ignoring case.',
    }),
    ApiPage(Category, {
      name: 'Categories',
      description: 'A page of categories.',
      example: [CATS, DOGS],
    }),
    ApiErrors({
      invalid_request: 'limit must be an integer from 1 to 100.',
      invalid_cursor: PUBLIC_MESSAGES.invalidCursor,
    }),
  );
}

export function DescribeCreateCategory(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'createCategory',
      summary: 'Add a category',
      description: 'Adds a category and returns it with the assigned id.',
    }),
    ApiJsonBody(NewCategory, 'The category to add.'),
    ApiCreatedResponse({
      type: Category,
      description: 'The category with its assigned id.',
      example: CATS,
    }),
    ApiErrors({ invalid_request: INVALID_NAME, conflict: CATEGORY_NAME_TAKEN }),
  );
}

export function DescribeGetCategory(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getCategory',
      summary: 'Get a category',
      description: 'Returns the category with this identifier.',
    }),
    ApiCategoryId(),
    ApiOkResponse({ type: Category, description: 'The category.', example: CATS }),
    ApiErrors({ not_found: CATEGORY_NOT_FOUND }),
  );
}

export function DescribeUpdateCategory(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'updateCategory',
      summary: 'Change a category',
      description: 'Changes the given properties and returns the category.',
    }),
    ApiCategoryId(),
    ApiJsonBody(CategoryChanges, 'The properties to change.'),
    ApiOkResponse({ type: Category, description: 'The changed category.', example: CATS }),
    ApiErrors({
      invalid_request: INVALID_NAME,
      not_found: CATEGORY_NOT_FOUND,
      conflict: CATEGORY_NAME_TAKEN,
    }),
  );
}

export function DescribeDeleteCategory(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'deleteCategory',
      summary: 'Delete a category',
      description: 'Deletes the category with this identifier.',
    }),
    ApiCategoryId(),
    ApiNoContentResponse({ description: 'The category is deleted.' }),
    ApiErrors({ not_found: CATEGORY_NOT_FOUND }),
  );
}

function ApiCategoryId(): MethodDecorator {
  return ApiInt64Param(
    'categoryId',
    "The category's identifier. A value that is not an int64 integer gets 404.",
  );
}
