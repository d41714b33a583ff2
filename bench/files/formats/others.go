package formats

// Formats without calls are registered so that an error can name the command that reads them.
func init() {
	register(Format{
		Name: "tuner-csv", Title: "rules or measurements of a library's tuner", Holds: Rules, rank: 45, Use: "no command reads rules of a tuner",
		recognise: func(head []byte) bool {
			return has(head, "collective_type,min_bytes", "colltype,minbytes", "collective,size_bytes,algorithm,protocol", "size_bytes,algo,proto")
		},
	})
	register(Format{
		Name: "topo-xml", Title: "the topology of a node", Holds: Topology, rank: 46, Use: "`zbench topo --xml FILE` reads it",
		recognise: func(head []byte) bool { return begins(head, '<') && has(head, "<system") },
	})
	register(Format{
		Name: "graph-xml", Title: "the rings and trees of a library", Holds: Topology, rank: 47, Use: "no command reads rings and trees",
		recognise: func(head []byte) bool { return begins(head, '<') && has(head, "<graphs") },
	})
	register(Format{
		Name: "ras-json", Title: "the report of a library's RAS service", Holds: Health, rank: 48, Use: "`zbench collectives` asks that service itself when a deadline passes",
		recognise: func(head []byte) bool {
			return begins(head, '{') && has(head, `"communicators"`) && has(head, `"nccl_version"`)
		},
	})
}
