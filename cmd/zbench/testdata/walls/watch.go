package walls

func check() { probe() }
