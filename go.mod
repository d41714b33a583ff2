module zbench

go 1.26.0
