package formats

import (
	"cmp"
	"slices"

	"zbench/bench/files/trace"
)

// annotation is the label that PyTorch puts around its call of the library: "nccl:" and the name of
// the collective.
type annotation struct {
	trace.Span
	name string
}

// untold is a collective's kernel whose record does not name the collective, as in traces before
// 2024. The kernel's own name usually contains the collective. The names of RCCL's generic kernels
// do not contain it. Kernels for single messages have the name send_recv.
type untold struct {
	launch int64
	call   trace.Call
}

// annotate stores the annotation around a call on the host.
func (k *kineto) annotate(e *kinetoEvent) {
	name, known := trace.Named(string(e.Name))
	if s := k.span(e); s != nil && known && e.Cat == "user_annotation" && len(k.annotated) <= maxCalls {
		if k.annotated == nil {
			k.annotated = map[int32][]annotation{}
		}
		thread := k.ready.thread(e)
		k.annotated[thread] = append(k.annotated[thread], annotation{*s, name})
	}
}

// tell adds the calls of kernels whose record names no collective. The annotation in which the host
// launched a kernel names the collective. Several kernels of one annotation are one call.
func (k *kineto) tell() {
	launched := k.launchesOf(k.untold)
	for _, list := range k.annotated {
		slices.SortStableFunc(list, func(a, b annotation) int { return cmp.Compare(a.Start, b.Start) })
	}
	calls := map[*annotation]int{}
	for _, u := range k.untold {
		named := u.call.Collective != "" && u.call.Collective != "send_recv"
		var a *annotation
		if l, ok := launched[u.launch]; ok && !named {
			a = k.annotationAt(l)
		}
		if i, met := calls[a]; met && a != nil && u.call.Kernel != nil && k.rank.Calls[i].Kernel != nil {
			whole := k.rank.Calls[i].Kernel
			whole.Start, whole.End = min(whole.Start, u.call.Kernel.Start), max(whole.End, u.call.Kernel.End)
			continue
		}
		if a != nil {
			u.call.Collective, calls[a] = a.name, len(k.rank.Calls)
		}
		if u.call.Collective == "" {
			k.rank.Unnamed++
			continue
		}
		u.call.Group = k.group(&kinetoEvent{})
		k.rank.Calls = append(k.rank.Calls, u.call)
	}
}

// launchesOf returns the launches of those kernels that an annotation may name. All launches of a
// trace would be too many to keep.
func (k *kineto) launchesOf(kernels []untold) map[int64]moment {
	out := map[int64]moment{}
	if len(k.annotated) == 0 {
		return out
	}
	wanted := map[int64]bool{}
	for _, u := range kernels {
		wanted[u.launch] = true
	}
	for _, l := range k.ready.launched {
		if wanted[l.id] {
			out[l.id] = l
		}
	}
	return out
}

// annotationAt returns the innermost annotation around a moment on its thread, or nil if there is
// none. The innermost annotation is the one that began last.
func (k *kineto) annotationAt(m moment) *annotation {
	const nested = 8
	list := k.annotated[m.thread]
	after, _ := slices.BinarySearchFunc(list, m.at, func(a annotation, at float64) int {
		if a.Start <= at {
			return -1
		}
		return 1
	})
	for i := after - 1; i >= max(after-nested, 0); i-- {
		if m.at <= list[i].End {
			return &list[i]
		}
	}
	return nil
}
