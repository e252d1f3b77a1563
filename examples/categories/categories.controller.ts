import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { PageQuery } from '../platform/http/paging/page-query.dto.js';
import { Int64Pipe } from '../platform/http/validation/int64.pipe.js';
import { categoryNotFound } from './categories.errors.js';
import {
  DescribeCreateCategory,
  DescribeDeleteCategory,
  DescribeGetCategory,
  DescribeListCategories,
  DescribeUpdateCategory,
} from './categories.openapi.js';
import { CategoriesService } from './categories.service.js';
import type { PublicCategory } from './category.entity.js';
import { CategoryChanges } from './dto/category-changes.dto.js';
import { NewCategory } from './dto/new-category.dto.js';

/** Text that is not an int64 identifies no category. */
const CATEGORY_ID = new Int64Pipe(categoryNotFound);

@Controller({ path: 'categories', version: '1' })
export class CategoriesController {
  constructor(private readonly categories: CategoriesService) {}

  @Get()
  @DescribeListCategories()
  listCategories(@Query() query: PageQuery): Promise<PublicCategory[]> {
    return this.categories.list(query);
  }

  @Post()
  @DescribeCreateCategory()
  createCategory(@Body() category: NewCategory): Promise<PublicCategory> {
    return this.categories.add(category);
  }

  @Get(':categoryId')
  @DescribeGetCategory()
  getCategory(@Param('categoryId', CATEGORY_ID) categoryId: bigint): Promise<PublicCategory> {
    return this.categories.get(categoryId);
  }

  @Patch(':categoryId')
  @DescribeUpdateCategory()
  updateCategory(
    @Param('categoryId', CATEGORY_ID) categoryId: bigint,
    @Body() changes: CategoryChanges,
  ): Promise<PublicCategory> {
    return this.categories.change(categoryId, changes);
  }

  @Delete(':categoryId')
  @HttpCode(204)
  @DescribeDeleteCategory()
  deleteCategory(@Param('categoryId', CATEGORY_ID) categoryId: bigint): Promise<void> {
    return this.categories.remove(categoryId);
  }
}
