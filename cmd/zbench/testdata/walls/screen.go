package walls

func probe() {}
