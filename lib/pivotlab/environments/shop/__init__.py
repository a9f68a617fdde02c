"""WebShop's task: buy what an instruction asks for. Catalogue, pages, exact reward."""

from pivotlab.environments.shop.environment import MAX_TURNS, Shop
from pivotlab.environments.shop.generated import catalogue, task_ids
from pivotlab.environments.shop.products import Goal, Product

__all__ = ["MAX_TURNS", "Goal", "Product", "Shop", "catalogue", "task_ids"]
