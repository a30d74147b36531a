// Replaces dlclose for AddressSanitizer, so that libraries stay loaded. Leaks of MPI's plug-ins then have symbol names
// when they are reported, and tests/lsan.supp can match them.
extern "C" int dlclose(void*) { return 0; }
