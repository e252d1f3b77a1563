import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Param,
  Patch,
  Post,
  Put,
  Query,
} from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
} from '@nestjs/swagger';
import { ApiErrors, ApiPage, IfMatch, INT64, Int64Pipe, type Page, PageQuery } from '#platform';
import {
  CATEGORY_NAME_TAKEN,
  CATEGORY_NOT_FOUND,
  categoryNotFound,
  IF_MATCH_REQUIRED,
} from './categories.errors.js';
import { CategoriesService } from './categories.service.js';
import { Category } from './category.entity.js';
import { CategoryChanges } from './dto/category-changes.dto.js';
import { NewCategory } from './dto/new-category.dto.js';

/** Text that is not an int64 identifies no category. */
const CATEGORY_ID = new Int64Pipe(categoryNotFound);
const ApiCategoryId = () =>
  ApiParam({
    name: 'categoryId',
    schema: INT64,
    description: 'Identifies the category. A value that is not an int64 gets 404.',
  });

@Controller({ path: 'categories', version: '1' })
export class CategoriesController {
  constructor(private readonly categories: CategoriesService) {}

  @Get()
  @ApiOperation({
    operationId: 'listCategories',
    summary: 'List categories',
    description: 'Returns a page of categories in ascending order of name, ignoring case.',
  })
  @ApiPage(Category, 'A page of categories.')
  @ApiErrors('invalid_cursor')
  listCategories(@Query() query: PageQuery): Promise<Page<Category>> {
    return this.categories.list(query);
  }

  @Post()
  @ApiOperation({
    operationId: 'createCategory',
    summary: 'Add a category',
    description: 'Adds a category and returns it with the assigned id.',
  })
  @ApiCreatedResponse({ type: Category, description: 'The category with its assigned id.' })
  @ApiErrors({ conflict: CATEGORY_NAME_TAKEN })
  createCategory(@Body() category: NewCategory): Promise<Category> {
    return this.categories.add(category);
  }

  @Get(':categoryId')
  @ApiOperation({
    operationId: 'getCategory',
    summary: 'Get a category',
    description: 'Returns the category with this identifier.',
  })
  @ApiCategoryId()
  @ApiOkResponse({ type: Category, description: 'The category.' })
  @ApiErrors({ not_found: CATEGORY_NOT_FOUND })
  getCategory(@Param('categoryId', CATEGORY_ID) categoryId: bigint): Promise<Category> {
    return this.categories.get(categoryId);
  }

  @Put(':categoryId')
  @ApiOperation({
    operationId: 'replaceCategory',
    summary: 'Replace a category',
    description: 'Replaces the category if it has not changed since the caller got its `ETag`.',
  })
  @ApiCategoryId()
  @ApiOkResponse({ type: Category, description: 'The new category.' })
  @ApiErrors(IF_MATCH_REQUIRED, { not_found: CATEGORY_NOT_FOUND, conflict: CATEGORY_NAME_TAKEN })
  replaceCategory(
    @Param('categoryId', CATEGORY_ID) categoryId: bigint,
    @Body() category: NewCategory,
    @IfMatch() ifMatch?: IfMatch,
  ): Promise<Category> {
    return this.categories.replace(categoryId, category, ifMatch);
  }

  @Patch(':categoryId')
  @ApiOperation({
    operationId: 'updateCategory',
    summary: 'Change a category',
    description: 'Changes the given properties and returns the category.',
  })
  @ApiCategoryId()
  @ApiOkResponse({ type: Category, description: 'The changed category.' })
  @ApiErrors({ not_found: CATEGORY_NOT_FOUND, conflict: CATEGORY_NAME_TAKEN })
  updateCategory(
    @Param('categoryId', CATEGORY_ID) categoryId: bigint,
    @Body() changes: CategoryChanges,
    @IfMatch() ifMatch?: IfMatch,
  ): Promise<Category> {
    return this.categories.change(categoryId, changes, ifMatch);
  }

  @Delete(':categoryId')
  @HttpCode(204)
  @ApiOperation({
    operationId: 'deleteCategory',
    summary: 'Delete a category',
    description: 'Deletes the category with this identifier.',
  })
  @ApiCategoryId()
  @ApiNoContentResponse({ description: 'The category is deleted.' })
  @ApiErrors({ not_found: CATEGORY_NOT_FOUND })
  deleteCategory(
    @Param('categoryId', CATEGORY_ID) categoryId: bigint,
    @IfMatch() ifMatch?: IfMatch,
  ): Promise<void> {
    return this.categories.remove(categoryId, ifMatch);
  }
}
