package preflight

// check is a row of the table of checks.
type check struct {
	name string
	// `why` is the cost of ignoring a warning or an error.
	why string
	// `hardware` is true if the check does not apply to simulated GPUs.
	hardware bool
	// `host` is true if the check applies to a single host.
	host bool
	// The function `judge` returns one verdict per process of the world, in
	// their order.
	judge func(w *world) []verdict
}

// checks are all checks, in the order of the table.
var checks = []check{
	{
		name: "CPU cores", hardware: true, host: true, judge: (*world).cores,
		why: "RCCL's proxy thread and the thread that launches both poll without a pause; where they share a core, collectives take many times as long",
	},
	{
		name: "locked memory", hardware: true, host: true, judge: perProcess((*world).lockedMemory),
		why: "RDMA locks the buffers that it registers; without enough, connections between nodes fail or hang",
	},
	{
		name: "/dev/shm", hardware: true, host: true, judge: perProcess((*world).sharedMemory),
		why: "the ranks of a node exchange data and signals through files there; RCCL ends with an error when it is full",
	},
	{
		name: "open files", hardware: true, host: true, judge: perProcess((*world).openFiles),
		why: "every connection between nodes takes a file; at the limit RCCL ends with an error while it connects",
	},
	{
		name: "ports", hardware: true, host: true, judge: perProcess((*world).ports),
		why: "every connection takes a port at each end, and a closed one keeps it for 60 s; without a free one RCCL ends with 'Address already in use' while it connects",
	},
	{
		name: "GPU partitions", hardware: true, host: true, judge: (*world).partitions,
		why: "a partition has a share of a GPU's compute units and memory: its figures cannot be compared with a whole GPU's figures",
	},
	{
		name: "NUMA balancing", hardware: true, host: true, judge: perProcess((*world).balancing),
		why: "the kernel moves pages while they are used, and the host's part of a collective stalls at random; RCCL warns of it too",
	},
	{
		name: "libraries", judge: (*world).libraries,
		why: "different versions choose different algorithms for one message, or cannot talk to each other; then ranks hang",
	},
	{
		name: "clock", judge: perProcess((*world).clock),
		why: "logs of hosts with different clocks cannot be put side by side; results do not depend on it",
	},
	{
		name: "bootstrap interface", hardware: true, host: true, judge: perProcess((*world).bootstrapInterface),
		why: "RCCL's ranks find each other over this interface; an interface that does not reach the other hosts leads to a hang or an error when communicators are made",
	},
	{
		name: "RDMA NICs", hardware: true, host: true, judge: (*world).nics,
		why: "RCCL leaves out NICs that it does not find or that are not active, and says so in its log alone; without any it uses TCP sockets",
	},
	{
		name: "RoCE v2 GID", hardware: true, host: true, judge: perProcess((*world).gids),
		why: "a NIC sends from the address in this entry of its table; an empty entry fails; an entry for RoCE v1, or for a single link, reaches no other subnet",
	},
	{
		name: "GPUs of local peers", hardware: true, judge: (*world).peers,
		why: "RCCL maps the memory of the other GPUs of a node; GPUs that a process cannot see are reached through the host's memory, at a fraction of xGMI's rate; kernels of processes that share a GPU wait for each other",
	},
	{
		name: "result folder", judge: (*world).folder,
		why: "the leader writes the results there; in a folder that hosts do not share they stay on its host, and another host cannot resume the run",
	},
}

// perProcess makes a check that judges each process by itself.
func perProcess(judge func(w *world, p *Process) verdict) func(*world) []verdict {
	return func(w *world) []verdict {
		return w.each(func(p *Process) verdict { return judge(w, p) })
	}
}
