package trainer

import (
	"cmp"
	"slices"
)

// table has the trainers in the order of the listings. Each is registered by its own
// file, which defines it completely.
var table []Trainer

// register adds a trainer to the table.
func register(t Trainer) {
	for _, f := range t.frontEnds {
		t.Aliases = append(t.Aliases, f.names...)
	}
	at, _ := slices.BinarySearchFunc(table, t.listed, func(x Trainer, n int) int { return cmp.Compare(x.listed, n) })
	table = slices.Insert(table, at, t)
}

// unsimulated are known frameworks that are not supported, because their calls differ
// from those of any trainer here, with the alternative.
var unsimulated = map[string]string{
	"maxtext":       "it scans over the layers and lets XLA shard by itself (FSDP), so that calls are combined within one turn of a loop, which is not simulated; for a program that neither scans nor shards parameters ask for xla",
	"horovod":       "it fuses what became ready in a cycle, which no list of tensors tells",
	"megatron-fsdp": "its buckets are its own, which ddp_bucket_size does not cut; ask for megatron without --use-megatron-fsdp",
}

// Collectives are the calls of all trainers, each once.
func Collectives() []string {
	var all []string
	for _, t := range table {
		for _, name := range t.Collectives {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// Reads names the files that ReadConfig understands, for people.
func Reads() []string {
	var all []string
	for _, t := range table {
		for _, r := range t.reads {
			all = append(all, r.title)
		}
	}
	return all
}

func largest(p Plan) int64 {
	n := int64(0)
	for _, b := range p.Buckets {
		n = max(n, b.Elements)
	}
	return n
}
