package document

import "zbench/bench/finding"

// Bars is a chart of bars as data: what to draw, not how. All lengths share a unit.
type Bars struct {
	// ID is unique within the page and a valid file stem.
	ID, Title string
	Bars      []Bar
	// Most is the length that takes the whole room.
	Most float64
}

// Bar is one result, with what it is held against, all in bytes per second; or
// one ratio, with no marks.
type Bar struct {
	Label, Value string
	Length       float64
	// Lo and Hi bound the length; both 0 where that is not known.
	Lo, Hi float64
	Weak   bool // another's configuration, or unfused
	Marks  []BarMark
}

// BarMark is a line across a bar.
type BarMark struct {
	At     float64
	Letter string
}

// Diagram is boxes in columns with lines between them as data: what to draw, not how.
type Diagram struct {
	// ID is unique within the page and a valid file stem.
	ID, Title string
	Columns   []DiagramColumn
	Lines     []DiagramLine
}

// DiagramColumn is boxes below each other, under a heading.
type DiagramColumn struct {
	Name  string
	Boxes []DiagramBox
}

// DiagramBox is a component. Name is unique in the diagram, Note is a line below it.
type DiagramBox struct {
	Name, Note string
	// Severity colours the box; what it means stands in a table beside.
	Severity finding.Severity
}

// DiagramLine joins two boxes by their names; a name that no box has is left out.
type DiagramLine struct {
	From, To string
	Severity finding.Severity
}

func (Diagram) block() string { return "diagram" }

// Dots is measurements of a fleet as a picture: a dot for each value, the nodes from left to
// right, the value's share of the median upwards.
type Dots struct {
	// ID is unique within the page and a valid file stem. Mark is what must travel with the
	// picture: SIMULATED.
	ID, Title, Mark string
	// Nodes are the names on the axis.
	Nodes  []string
	Values []DotValue
	// Limits are the least shares lost that are named: one, or the smallest and the largest
	// where several kinds of measurement are drawn.
	Limits []float64
	// One is what a dot is: a GPU, a node.
	One string
	// Table is what the picture shows, for those who do not see it.
	Table *Sheet
}

// DotValue is a value of a node. Share is of the median; Named marks what the screen names.
type DotValue struct {
	Node  int
	Share float64
	Named bool
	Tip   string
}

func (Dots) block() string { return "dots" }

// HeatMap is a table of shares as a picture. A share is the height of a mark, its colour
// repeats that: a thin line is a value without a loss, nothing is no value.
type HeatMap struct {
	// ID is unique within the page and a valid file stem.
	ID, Title string
	Rows      []string
	Columns   []string
	// Shares are by row and column, 0 to 1; NaN is no value.
	Shares [][]float64
	// Limit is the share from which a mark is bold.
	Limit float64
	// Landscape: many cells lose the limit, and the map is read as a whole. None is named.
	Landscape bool
	// Table is what the picture shows, for those who do not see it.
	Table *Sheet
}

func (HeatMap) block() string { return "heatmap" }

// Timeline is what ran when, a lane for each thing that runs one after the other.
type Timeline struct {
	// ID is unique within the page and a valid file stem.
	ID, Title string
	Lanes     []Lane
	// Kinds are what the spans' kinds mean, in the order of their numbers.
	Kinds []string
	// Seconds is the length of the axis, which begins at 0.
	Seconds float64
	// Table is what the picture shows, for those who do not see it.
	Table *Sheet
}

// Lane is a line of a timeline.
type Lane struct {
	Name  string
	Spans []LaneSpan
}

// LaneSpan is a stretch of a lane, in seconds. Kind is an index of Timeline.Kinds; Tip says what it is.
type LaneSpan struct {
	Start, End float64
	Kind       int
	Tip        string
}

func (Timeline) block() string { return "timeline" }
