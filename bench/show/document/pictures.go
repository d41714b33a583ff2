package document

import "zbench/bench/base/finding"

// Bars is a bar chart as data: it says what to draw, not how. All lengths have the same unit.
type Bars struct {
	// ID is unique within the page and valid as a file name without extension.
	ID, Title string
	Bars      []Bar
	// Most is the length that a bar of full width stands for.
	Most float64
	// File is true if the chart also has files of its own, for slides. Its title then says where the
	// figures come from.
	File bool
}

// Bar is one result in bytes per second with its reference marks, or one ratio without marks.
type Bar struct {
	Label, Value string
	Length       float64
	// Lo and Hi bound the length; both are 0 if unknown.
	Lo, Hi float64
	Weak   bool // true if the result is from another configuration or not fused
	Marks  []BarMark
}

// BarMark is a line across a bar.
type BarMark struct {
	At     float64
	Letter string
}

// Diagram is a picture of boxes in columns, joined by lines. It says what to draw, not how.
type Diagram struct {
	// ID is unique within the page and valid as a file name without extension.
	ID, Title string
	Columns   []DiagramColumn
	Lines     []DiagramLine
}

// DiagramColumn is a column of boxes under a heading.
type DiagramColumn struct {
	Name  string
	Boxes []DiagramBox
}

// DiagramBox is a component. Name is unique in the diagram. Note is the line below the name.
type DiagramBox struct {
	Name, Note string
	// Severity decides the colour of the box. A table next to the picture explains the colours.
	Severity finding.Severity
}

// DiagramLine joins two boxes by their names. A line to a name without a box is omitted.
type DiagramLine struct {
	From, To string
	Severity finding.Severity
}

func (Diagram) block() string { return "diagram" }

// Dots is a picture of a fleet's measurements with one dot per value. Nodes are from left to right;
// the height of a dot is its value as a share of the median.
type Dots struct {
	// ID is unique within the page and valid as a file name without extension. Mark is a text that
	// must be shown with the picture, such as SIMULATED.
	ID, Title, Mark string
	// Nodes are the names on the axis.
	Nodes  []string
	Values []DotValue
	// Limits are the smallest losses that are reported, as shares: one, or the smallest and the
	// largest if several kinds of measurement are drawn.
	Limits []float64
	// One is the noun for one dot: GPU or node.
	One string
	// Table has the picture's values for readers who cannot see the picture.
	Table *Sheet
}

// DotValue is one value of a node. Share is relative to the median. Named marks a value that the
// screen reports.
type DotValue struct {
	Node  int
	Share float64
	Named bool
	Tip   string
}

func (Dots) block() string { return "dots" }

// HeatMap is a table of shares as a picture. The height and colour of a mark show the share. A thin
// line means no loss; an empty cell means no value.
type HeatMap struct {
	// ID is unique within the page and valid as a file name without extension.
	ID, Title string
	Rows      []string
	Columns   []string
	// Shares are losses by row and column, from 0 to 1; NaN means no value.
	Shares [][]float64
	// Limit is the share from which a mark is bold.
	Limit float64
	// Landscape is true if so many cells reach the limit that the map must be read as a whole.
	// Single cells are then not named.
	Landscape bool
	// Table has the picture's values for readers who cannot see the picture.
	Table *Sheet
}

func (HeatMap) block() string { return "heatmap" }

// Timeline shows what ran when. Each lane holds spans that ran one after the other.
type Timeline struct {
	// ID is unique within the page and valid as a file name without extension.
	ID, Title string
	Lanes     []Lane
	// Kinds are the names of the kinds of spans. A span refers to its kind by index.
	Kinds []string
	// Seconds is the length of the axis, which begins at 0.
	Seconds float64
	// Table has the picture's values for readers who cannot see the picture.
	Table *Sheet
}

// Lane is a line of a timeline.
type Lane struct {
	Name  string
	Spans []LaneSpan
}

// LaneSpan is a time range in a lane, in seconds. Kind is an index into Timeline.Kinds. Tip
// describes the span.
type LaneSpan struct {
	Start, End float64
	Kind       int
	Tip        string
}

func (Timeline) block() string { return "timeline" }
