package trainer

// table is in the order of the listings.
var table = []Trainer{}
