"""`steinquad demo`."""


def test_demo_prints_both_methods_and_saves_a_figure(command, tmp_path):
    figure = tmp_path / "demo.png"
    code, out = command("demo", "--n", "200", "--figure", figure)
    assert code == 0 and figure.stat().st_size > 5000
    assert "MonteCarlo" in out.out and "BSN" in out.out and "truth" in out.out


def test_a_figure_that_cannot_be_written_is_known_before_the_fits(command, tmp_path):
    code, out = command("demo", "--figure", tmp_path / "no" / "demo.png")
    assert code == 2 and out.out == "" and out.err.count("\n") == 1
