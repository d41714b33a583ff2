package report

import (
	"bytes"
	"fmt"
	"image/png"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
	"zbench/bench/show/document"
)

// crossedRails is two GPUs whose lines to their NICs cross.
func crossedRails() document.Diagram {
	return document.Diagram{
		ID: "rails", Title: "GPUs and their rails",
		Columns: []document.DiagramColumn{
			{Name: "NUMA", Boxes: []document.DiagramBox{{Name: "NUMA 0", Note: "", Severity: finding.Note}}},
			{Name: "GPU", Boxes: []document.DiagramBox{{Name: "0000:0c:00.0", Note: "MI300X", Severity: finding.Fault}, {Name: "0000:15:00.0", Note: "MI300X", Severity: finding.Note}}},
			{Name: "NIC", Boxes: []document.DiagramBox{{Name: "mlx5_0", Note: "400G", Severity: finding.Warning}, {Name: "mlx5_1", Note: "", Severity: finding.Note}, {Name: "mlx5_2", Note: strings.Repeat("very long ", 20), Severity: finding.Note}}},
		},
		Lines: []document.DiagramLine{{From: "NUMA 0", To: "0000:0c:00.0", Severity: finding.Note}, {From: "0000:0c:00.0", To: "mlx5_1", Severity: finding.Fault}, {From: "0000:15:00.0", To: "mlx5_0", Severity: finding.Note}, {From: "0000:15:00.0", To: "gone", Severity: finding.Note}},
	}
}

// A diagram is a scene: all of it inside the picture, boxes and labels apart, and a line
// ends at the boxes that it joins.
func TestDiagramIsAScene(t *testing.T) {
	d := crossedRails()
	for _, f := range []diagramForm{wideDiagram, narrowDiagram, aloneDiagram} {
		s := layOutDiagram(d, f)
		checkGeometry(t, s, fmt.Sprintf("width %g", f.width))
		var boxes []box
		var lines []stroke
		for _, l := range s.layers {
			for _, a := range l.areas {
				require.True(t, a.box.inside(box{0, 0, s.width, s.height}), "%v", a.box)
				for _, other := range boxes {
					require.False(t, a.box.touches(other))
				}
				boxes = append(boxes, a.box)
			}
			for _, one := range l.lines {
				if len(one.points) == 2 {
					lines = append(lines, one)
				}
			}
		}
		require.Len(t, boxes, 6)
		require.Len(t, lines, 3, "the line to a box that is not there is left out")
		require.Equal(t, vec{boxes[1].right, (boxes[1].top + boxes[1].bottom) / 2}, lines[1].points[0])
		require.Equal(t, vec{boxes[4].left, (boxes[4].top + boxes[4].bottom) / 2}, lines[1].points[1])
		require.NotEmpty(t, lines[1].dash)
		require.Empty(t, lines[2].dash)
	}
	picture := svg(t, d)
	elements(t, picture)
	require.Contains(t, picture, "0000:0c:00.0 to mlx5_1.")
	var b bytes.Buffer
	require.NoError(t, WritePNG(&b, d))
	_, err := png.DecodeConfig(&b)
	require.NoError(t, err)
	layOutDiagram(document.Diagram{}, wideDiagram) // draws nothing
}
