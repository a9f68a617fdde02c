"""Pages word for word, and read back."""

import pytest
from shop_toys import COLOR, PRODUCTS, SIZE, small_catalogue

from pivotlab.environments.shop import pages

SHOP = small_catalogue(per_page=2)


def test_every_page_word_for_word():
    assert pages.search_page("buy it") == (
        "WebShop [SEP] Instruction: [SEP] buy it [SEP] Search"
    )
    first, second = SHOP.page("lumo wool blanket", 1)
    assert pages.results_page(SHOP, "lumo wool blanket", 1) == (
        "Back to Search [SEP] Page 1 (Total results: 4) [SEP] Next > [SEP] B1 [SEP] "
        f"lumo wool blanket [SEP] $30.00 [SEP] {second.asin} [SEP] {second.title} "
        f"[SEP] ${second.price:.2f}"
    )
    assert first.asin == "B1"
    assert pages.product_page(PRODUCTS[0], [("color", "red")]) == (
        "You have clicked color: red [SEP] Back to Search [SEP] < Prev [SEP] color "
        "[SEP] red [SEP] blue [SEP] size [SEP] small [SEP] large [SEP] lumo wool "
        "blanket [SEP] Price: $30.00 [SEP] Description [SEP] Features [SEP] Reviews "
        "[SEP] Attributes [SEP] Buy Now"
    )
    assert pages.part_page(PRODUCTS[0], "Attributes") == (
        "Back to Search [SEP] < Prev [SEP] washable"
    )
    assert pages.end_page(2 / 3).endswith("(min 0.0, max 1.0): 0.67")


def test_pages_are_read_back():
    seen = pages.read(pages.search_page("a [SEP] b"))
    assert (seen.kind, seen.instruction) == ("search", "a [SEP] b")
    for number, more in ((1, True), (2, False)):
        seen = pages.read(pages.results_page(SHOP, "wool", number))
        wanted = [(p.asin, p.title, p.price) for p in SHOP.page("wool", number)]
        assert (seen.kind, list(seen.items), seen.more) == ("results", wanted, more)
    assert pages.read(pages.results_page(SHOP, "zebra", 1)).items == ()
    chosen = (("color", "red, dark: warm"), ("size", "large"))
    seen = pages.read(pages.product_page(PRODUCTS[0], chosen))
    assert (seen.kind, seen.title, seen.price) == ("product", PRODUCTS[0].title, 30.0)
    assert seen.values == (COLOR[0], *COLOR[1], SIZE[0], *SIZE[1])
    assert seen.clicked == chosen
    assert pages.read(pages.part_page(PRODUCTS[0], "Reviews")).kind == "part"
    assert pages.read(pages.end_page(1.0)).kind == "end"
    assert pages.read(pages.INVALID).kind == "invalid"


def test_another_text_is_refused():
    with pytest.raises(ValueError, match="not a page"):
        pages.read("You are in a room.")
