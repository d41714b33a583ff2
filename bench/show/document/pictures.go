package document

import "zbench/bench/base/finding"

// Bars is a bar chart as data: what to draw, not how. All lengths share a unit.
type Bars struct {
	// ID is unique within the page and a valid file stem.
	ID, Title string
	Bars      []Bar
	// Most is the length of a full-width bar.
	Most float64
}

// Bar is one result with its reference marks, all in bytes per second, or one ratio without marks.
type Bar struct {
	Label, Value string
	Length       float64
	// Lo and Hi bound the length; both 0 if unknown.
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
	// Severity colours the box; a table beside explains it.
	Severity finding.Severity
}

// DiagramLine joins two boxes by their names; a name that no box has is left out.
type DiagramLine struct {
	From, To string
	Severity finding.Severity
}

func (Diagram) block() string { return "diagram" }

// Dots is a picture of a fleet's measurements: one dot per value, with the nodes from left to right
// and the value's share of the median upwards.
type Dots struct {
	// ID is unique within the page and a valid file stem. Mark must accompany the picture:
	// SIMULATED.
	ID, Title, Mark string
	// Nodes are the names on the axis.
	Nodes  []string
	Values []DotValue
	// Limits are the smallest lost shares that are named: one, or the smallest and the largest if
	// several kinds of measurement are drawn.
	Limits []float64
	// One names a dot: a GPU, a node.
	One string
	// Table has the picture's values for readers who cannot see it.
	Table *Sheet
}

// DotValue is a value of a node. Share is relative to the median. Named marks values that the
// screen names.
type DotValue struct {
	Node  int
	Share float64
	Named bool
	Tip   string
}

func (Dots) block() string { return "dots" }

// HeatMap is a table of shares as a picture. Height and colour of a mark show the share: a thin
// line has no loss, nothing is no value.
type HeatMap struct {
	// ID is unique within the page and a valid file stem.
	ID, Title string
	Rows      []string
	Columns   []string
	// Shares are by row and column, 0 to 1; NaN is no value.
	Shares [][]float64
	// Limit is the share from which a mark is bold.
	Limit float64
	// Landscape is true if many cells lose the limit, so that the map is read as a whole. No cell
	// is then named.
	Landscape bool
	// Table has the picture's values for readers who cannot see it.
	Table *Sheet
}

func (HeatMap) block() string { return "heatmap" }

// Timeline shows what ran when, with one lane for each thing that runs in sequence.
type Timeline struct {
	// ID is unique within the page and a valid file stem.
	ID, Title string
	Lanes     []Lane
	// Kinds are the names of the spans' kinds, in order of their numbers.
	Kinds []string
	// Seconds is the length of the axis, which begins at 0.
	Seconds float64
	// Table has the picture's values for readers who cannot see it.
	Table *Sheet
}

// Lane is a line of a timeline.
type Lane struct {
	Name  string
	Spans []LaneSpan
}

// LaneSpan is a stretch of a lane, in seconds. Kind is an index of Timeline.Kinds; Tip is its
// description.
type LaneSpan struct {
	Start, End float64
	Kind       int
	Tip        string
}

func (Timeline) block() string { return "timeline" }
