// A real GPU: memory, copies and streams by the CUDA runtime, products by cuBLAS in float32 (TF32
// where that is asked for) and float64, in an order that is the same from run to run. Kernels have
// one stream, copies that go on beside them one each way. Compiled by nvcc alone.
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <map>
#include <vector>

#include "kernels/cuda/gpu.h"
#include "kernels/cuda/open_gpu.h"

namespace paddle::cuda {
namespace {

void check(cudaError_t e, const char* what) {
  require(e == cudaSuccess, Error::Kind::io, "the GPU failed to ", what, ": ",
          cudaGetErrorString(e));
}

void check(cublasStatus_t s, const char* what) {
  require(s == CUBLAS_STATUS_SUCCESS, Error::Kind::io, "cuBLAS failed to ", what, ": ",
          cublasGetStatusString(s));
}

int whole(int64_t n) {
  require(n <= INT32_MAX, Error::Kind::config, "a matrix has ", n,
          " rows or columns, more than cuBLAS takes");
  return static_cast<int>(n);
}

// A step of many launches as one. A call of cuBLAS is part of it like a kernel.
class CudaRecording : public Recording {
 public:
  ~CudaRecording() override {
    if (graph != nullptr) cudaGraphExecDestroy(graph);
  }
  cudaGraphExec_t graph = nullptr;
};

// cuBLAS's own working memory: what it would take by itself could not be part of a graph. The size
// that it asks for on the largest GPUs.
constexpr size_t blas_bytes = size_t{32} << 20;

class CudaGpu : public Gpu {
 public:
  CudaGpu(int index, bool tf32) : index_(index) {
    use_device();
    for (cudaStream_t* s : {&main_, &up_, &down_})
      check(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking), "make a stream");
    stream_ = main_;
    check(cudaHostAlloc(reinterpret_cast<void**>(&progress_), sizeof *progress_,
                        cudaHostAllocPortable),
          "take memory of the host");
    *progress_ = 0;
    check(cublasCreate(&blas_), "start");
    check(cublasSetStream(blas_, main_), "take a stream");
    blas_memory_ = take(blas_bytes, "cuBLAS");
    check(cublasSetWorkspace(blas_, blas_memory_, blas_bytes), "take memory");
    check(cublasSetMathMode(blas_, tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH),
          "set its mode");
    check(cublasSetAtomicsMode(blas_, CUBLAS_ATOMICS_NOT_ALLOWED), "set its mode");
  }
  ~CudaGpu() override {
    cudaSetDevice(index_);
    cudaDeviceSynchronize();
    if (workspace_ != nullptr) cudaFree(workspace_);
    cublasDestroy(blas_);
    cudaFree(blas_memory_);
    for (const auto& [ticket, event] : copies_) cudaEventDestroy(event);
    for (const cudaEvent_t event : idle_) cudaEventDestroy(event);
    for (const cudaStream_t s : {main_, up_, down_}) cudaStreamDestroy(s);
    cudaFreeHost(progress_);
  }

  std::string name() const override {
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, index_), "say its name");
    return properties.name;
  }

  void* allocate(size_t bytes) override {
    needs_host();
    use_device();
    void* memory = nullptr;
    const cudaError_t e = cudaMalloc(&memory, bytes);
    if (e == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // is not an error of what comes next
      size_t free = 0, all = 0;
      check(cudaMemGetInfo(&free, &all), "say how much memory it has");
      throw Error(Error::Kind::config, "GPU ", index_, " has not enough memory for ", bytes,
                  " bytes: ", free, " of ", all,
                  " bytes are free; take a smaller batch or end other programs");
    }
    check(e, "allocate memory");
    return memory;
  }
  void release(void* memory) noexcept override { cudaFree(memory); }

  void upload(void* to, const void* from, size_t bytes) override {
    needs_host();
    use_device();
    count_upload(bytes);
    // Of pageable memory the call returns when `from` has been read.
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, main_), "take a copy");
    if (pinned_.count(const_cast<void*>(from)) > 0) wait();
  }
  void download(void* to, const void* from, size_t bytes) override {
    needs_host();
    use_device();
    count_download(bytes);
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, main_), "give a copy");
    wait();
  }
  void copy(void* to, const void* from, size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, main_), "copy");
  }

  CopyTicket start_download(void* to, const void* from, size_t bytes) override {
    needs_host();
    use_device();
    count_download(bytes);
    const cudaEvent_t begun = new_event();
    check(cudaEventRecord(begun, main_), "mark a place");
    check(cudaStreamWaitEvent(down_, begun, 0), "order a copy");
    idle_.push_back(begun);  // the stream has taken note
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, down_), "give a copy");
    return mark(down_);
  }
  CopyTicket start_upload(void* to, const void* from, size_t bytes) override {
    needs_host();
    use_device();
    count_upload(bytes);
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, up_), "take a copy");
    return mark(up_);
  }
  void use(CopyTicket copy) override {
    needs_host();
    if (const auto at = copies_.find(copy); at != copies_.end())
      check(cudaStreamWaitEvent(main_, at->second, 0), "wait for a copy");
  }
  bool ended(CopyTicket copy) override {
    const auto at = copies_.find(copy);
    if (at == copies_.end()) return true;
    const cudaError_t e = cudaEventQuery(at->second);
    if (e == cudaErrorNotReady) return false;
    check(e, "copy");
    forget(at);
    return true;
  }
  void finish(CopyTicket copy) override {
    needs_host();
    const auto at = copies_.find(copy);
    if (at == copies_.end()) return;
    ++work.waits;
    check(cudaEventSynchronize(at->second), "copy");
    forget(at);
  }

  // Only what this thread starts on the stream is recorded; the lock keeps other threads away.
  void begin_recording() override {
    use_device();
    check(cudaStreamBeginCapture(main_, cudaStreamCaptureModeRelaxed), "record a step");
    recording_ = true;
    before_ = work;
  }
  std::unique_ptr<Recording> end_recording() override {
    auto made = std::make_unique<CudaRecording>();
    made->work = {.launches = work.launches - before_.launches,
                  .products = work.products - before_.products,
                  .product_flops = work.product_flops - before_.product_flops};
    recording_ = false;
    work = before_;
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(main_, &graph), "record a step");
    const cudaError_t e = cudaGraphInstantiate(&made->graph, graph, 0);
    cudaGraphDestroy(graph);
    check(e, "make a graph of a step");
    return made;
  }
  void drop_recording() noexcept override {
    recording_ = false;
    before_.pinned = work.pinned;
    work = before_;
    cudaGraph_t graph = nullptr;
    cudaStreamEndCapture(main_, &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();  // is not an error of what comes next
  }
  void replay(const Recording& recording) override {
    use_device();
    count_replay(recording);
    check(cudaGraphLaunch(static_cast<const CudaRecording&>(recording).graph, main_),
          "start a recorded step");
  }
  // What cannot be pinned is copied through memory of the driver.
  void pin(void* memory, size_t bytes) noexcept override {
    cudaSetDevice(index_);
    if (cudaHostRegister(memory, bytes, cudaHostRegisterDefault) == cudaSuccess)
      pinned_[memory] = bytes;
    else
      cudaGetLastError();  // is not an error of what comes next
    work.pinned += pinned_.count(memory) > 0 ? bytes : 0;
  }
  void unpin(void* memory) noexcept override {
    const auto at = pinned_.find(memory);
    if (at == pinned_.end()) return;
    cudaSetDevice(index_);
    for (const cudaStream_t s : {main_, up_, down_}) cudaStreamSynchronize(s);
    cudaHostUnregister(memory);
    work.pinned -= at->second;
    pinned_.erase(at);
  }
  void wait() override {
    needs_host();
    ++work.waits;
    for (const cudaStream_t s : {main_, up_, down_}) check(cudaStreamSynchronize(s), "finish");
  }
  // Each thread has a device of its own that its launches go to.
  void running(const char*) noexcept override { cudaSetDevice(index_); }
  uint32_t last_begun() const noexcept override {
    return *static_cast<const volatile uint32_t*>(progress_);
  }

  // cuBLAS stores by columns: the product of the transposes is the transpose of the product.
  void multiply(const Device&, const Product<float>& p) override {
    check(cublasSgemm(blas_, op(p.trans_b), op(p.trans_a), whole(p.n), whole(p.m), whole(p.k),
                      &p.alpha, p.b, whole(p.ldb), p.a, whole(p.lda), &p.beta, p.c, whole(p.ldc)),
          "multiply");
  }
  void multiply(const Device&, const Product<double>& p) override {
    check(cublasDgemm(blas_, op(p.trans_b), op(p.trans_a), whole(p.n), whole(p.m), whole(p.k),
                      &p.alpha, p.b, whole(p.ldb), p.a, whole(p.lda), &p.beta, p.c, whole(p.ldc)),
          "multiply");
  }

 private:
  using Copies = std::map<CopyTicket, cudaEvent_t>;

  void use_device() const { check(cudaSetDevice(index_), "start"); }

  cudaEvent_t new_event() {
    cudaEvent_t event = nullptr;
    if (idle_.empty()) {
      check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "make an event");
    } else {
      event = idle_.back();
      idle_.pop_back();
    }
    return event;
  }
  CopyTicket mark(cudaStream_t stream) {
    const cudaEvent_t event = new_event();
    copies_[++ticket_] = event;
    check(cudaEventRecord(event, stream), "mark a copy");
    return ticket_;
  }
  void forget(Copies::iterator copy) {
    idle_.push_back(copy->second);
    copies_.erase(copy);
  }
  static cublasOperation_t op(bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; }

  int index_;
  cudaStream_t main_ = nullptr, up_ = nullptr, down_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  void* blas_memory_ = nullptr;
  Copies copies_;                  // that may go on
  std::vector<cudaEvent_t> idle_;  // events to be used again
  CopyTicket ticket_ = 0;
  DeviceWork before_;
  std::map<void*, size_t> pinned_;
};

}  // namespace

int count_gpus(std::string& why) {
  int count = 0;
  const cudaError_t e = cudaGetDeviceCount(&count);
  if (e == cudaSuccess && count > 0) return count;
  if (e == cudaErrorInsufficientDriver)  // also where there is none
    why = text("no driver of an NVIDIA GPU is loaded that knows CUDA ", CUDART_VERSION / 1000, ".",
               CUDART_VERSION % 1000 / 10);
  else
    why = e == cudaSuccess || e == cudaErrorNoDevice ? "this machine has none"
                                                     : cudaGetErrorString(e);
  return 0;
}

std::shared_ptr<Accelerator> open_gpu(int index, const HostProducts&, const GpuOptions& options) {
  std::string why;
  const int count = count_gpus(why);
  require(index >= 0 && index < count, Error::Kind::config, "there is no GPU ", index, ": ",
          count == 0 ? why : text("their numbers are 0 to ", count - 1));
  return std::make_shared<CudaGpu>(index, options.tf32);
}

}  // namespace paddle::cuda
