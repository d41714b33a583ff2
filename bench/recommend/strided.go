package recommend

// strided reports whether a curve is of neighbours where a call's ranks are apart: those
// with the same experts, or with the same part of a matrix. Ranks that have a node each
// are apart anyway.
func (e *engine) strided(i int) bool {
	c, part := e.curves[i], e.needs[i].ranks < e.run.DP
	switch {
	case c.Stride > 0 || c.Nodes == c.Ranks:
		return false
	case e.run.Apart(false) > 1:
		return true
	}
	return c.Neighbours && part && e.run.EP > 1
}
