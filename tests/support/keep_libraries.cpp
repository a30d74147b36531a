// For AddressSanitizer, in place of the C library's: what MPI loads stays, so that the leaks of its plug-ins bear their
// names at the end, when leaks are looked for, and tests/lsan.supp can tell them from others.
extern "C" int dlclose(void*) { return 0; }
