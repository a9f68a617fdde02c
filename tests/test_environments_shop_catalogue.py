"""Search results come in pages; ids are unique."""

import pytest
from shop_toys import PRODUCTS, product, small_catalogue

from pivotlab.environments.shop.catalogue import Catalogue


def test_results_come_in_pages():
    shop = small_catalogue(per_page=2)
    found = shop.find("wool blanket")
    assert sorted(found) == ["b1", "b2", "b3", "b4"] and shop.pages("wool blanket") == 2
    pages = [p.asin.lower() for n in (1, 2) for p in shop.page("wool blanket", n)]
    assert tuple(pages) == found
    assert shop.pages("zebra") == 1 and shop.page("zebra", 1) == ()


def test_a_query_shows_what_is_on_its_first_page():
    shop = small_catalogue(per_page=2)
    first, last = shop.find("wool blanket")[0], shop.find("wool blanket")[-1]
    assert shop.shows("  Wool   BLANKET", [first])
    assert not shop.shows("wool blanket", [last]) and not shop.shows("zebra", [first])


def test_ids_that_differ_in_case_only_are_refused():
    twins = [product("B1", "mat"), product("b1", "lamp")]
    with pytest.raises(ValueError, match="two products have the id 'b1'"):
        Catalogue(twins, {}.__getitem__, 5, 5)


def test_an_empty_catalogue_is_refused():
    with pytest.raises(ValueError, match="at least one product"):
        Catalogue([], {}.__getitem__, 5, 5)
    assert len(Catalogue(PRODUCTS, {}.__getitem__, 5, 5).products) == len(PRODUCTS)
