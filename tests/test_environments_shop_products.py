"""What the search engine reads of a product."""

from shop_toys import COLOR, product


def test_the_document_holds_every_searchable_text_in_lower_case():
    made = product("B1", "Lumo Blanket", 9.0, (COLOR,), bullets=("Warm", "Thick"))
    assert made.document() == (
        "lumo blanket  bedding blanket warm thick color: red, blue"
    )
