"""Content blocks and the line logs of coding agents."""

from trajectory_files import fixture, shape


def test_blocks_become_thinking_text_calls_and_results():
    found = fixture("anthropic.json").trajectories[0]
    assert shape(found) == ["user", "assistant:weather", "tool", "user", "assistant"]
    turn = found.messages[1]
    assert (turn.reasoning, turn.content) == ("A tool.", "I look.")
    assert turn.tool_calls[0].arguments == {"city": "Bonn"}
    assert [m.content for m in found.messages[2:4]] == ["rain", "Go on."]
    assert found.messages[2].tool_call_id == "tu1"


def test_a_line_log_joins_pieces_leaves_dead_ends_and_parts_side_chains():
    report = fixture("coding_cli.jsonl")
    main, side = report.trajectories
    assert shape(main) == ["user", "assistant:Bash", "tool", "assistant"]
    assert main.messages[1].content == "I look."
    assert main.messages[-1].content == "It is fixed."
    assert main.meta["notes"] == {"no_tool_schemas": 1, "abandoned_branch": 1}
    assert shape(side) == ["user", "assistant"]
    assert (main.uid, side.uid) == ("coding_cli:s", "coding_cli:s-side")
