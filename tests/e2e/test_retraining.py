"""What a training again under a name says: the settings that it took over, and whether it is deployed."""

from decimal import Decimal

import pytest

from harness.sessions import listen, one


@pytest.fixture
def told(connect):
    """A session with a table, and the notices that it has got."""
    connection = connect()
    connection.execute(
        """
        CREATE TEMPORARY TABLE retrained AS
        SELECT i AS id, i % 17 AS x, i % 19 AS y, i % 17 + i % 19 > 17 AS label FROM generate_series(1, 300) AS i
        """
    )
    yield connection, listen(connection)
    connection.execute("SELECT svm_drop(name) FROM svm_models WHERE name LIKE 'retrained%'")


def test_the_notice_says_what_was_taken_over(told):
    connection, notices = told
    connection.execute("SELECT svm_train('retrained', 'label', '{x,y}', c => 0.25, options => '{\"hash_bits\": 9}')")
    assert "inherit" not in notices.pop().text
    # said when it is given, and not of what is taken over
    assert notices.pop().text.startswith('"hash_bits" has no effect: no feature is a category')
    connection.execute("SELECT svm_train('retrained', 'label')")
    assert (
        "\nKept from retrained_label@1: features => '{x,y}', c => 0.25, option \"hash_bits\": 9."
        " To keep nothing: options => '{\"inherit\": false}'." in notices.pop().text
    )
    connection.execute("SELECT svm_train('retrained', 'label', options => '{\"inherit\": false}')")
    assert "As in" not in notices.pop().text
    assert not notices


def test_a_version_that_is_better_is_told_so(told):
    connection, notices = told
    connection.execute("SELECT svm_train('retrained', 'label', '{x}')")
    compared = 'options => \'{"deploy": "if_better", "relation": "retrained", "metric": "auc"}\''
    connection.execute(f"SELECT svm_train('retrained', 'label', '{{x,y}}', {compared})")
    said = notices[-1].text
    assert said.startswith("model retrained_label@2 is deployed: auc on retrained ")
    assert ", that of retrained_label@1 0." in said
    connection.execute(f"SELECT svm_train('retrained', 'label', '{{y}}', {compared})")
    assert notices[-1].severity == "WARNING"
    assert notices[-1].text.startswith("model retrained_label@3 is stored and not deployed: auc on retrained ")
    assert one(connection, "SELECT version FROM svm_models WHERE name = 'retrained_label'") == 2


@pytest.mark.parametrize("is_binary", [False, True])
@pytest.mark.parametrize("name", ["c", "gamma"])
def test_numbers_come_from_drivers_in_any_type(told, name, is_binary):
    connection, _ = told
    train = (
        f"SELECT svm_train('retrained', 'label', '{{x,y}}', kernel => 'rbf', {name} => %{'b' if is_binary else 's'})"
    )
    found = f"SELECT version.given -> '{name}' FROM svm_versions AS version ORDER BY trained_at DESC LIMIT 1"
    one_number = [2, 2.0, Decimal("2"), "2", "{2}", [2], [2.0], [Decimal("2")]]
    for given, expected in [(it, 2.0) for it in one_number] + [([0.5, 2.0], [0.5, 2.0]), ("auto", "auto")]:
        one(connection, train, [given])
        assert one(connection, found) == expected, given
    # a parameter that nobody gives a type
    connection.execute(
        f"PREPARE numbered AS SELECT svm_train('retrained', 'label', '{{x,y}}', kernel => 'rbf', {name} => $1)"
    )
    connection.execute("EXECUTE numbered(0.25)")
    assert one(connection, found) == 0.25
    connection.execute("DEALLOCATE numbered")
