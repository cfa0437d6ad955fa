def test_import():
    import priorwise
