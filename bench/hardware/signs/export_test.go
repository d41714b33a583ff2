package signs

// All returns the table.
func All() []Sign { return table }
