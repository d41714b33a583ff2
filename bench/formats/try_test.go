package formats
import ("testing";"os";"fmt";"path/filepath")
func TestTry(t *testing.T){
 for _,p:=range []string{"traces/*/*","scaling/*","tuner/*","logs/*"} { fs,_:=filepath.Glob("/work/shared/"+p)
 for _,f:=range fs { r,_:=os.Open(f); tr,err:=Read(filepath.Base(f),r); if err!=nil {fmt.Println("--",err);continue}
  fmt.Println("==",filepath.Base(f),tr.Format,"world",tr.World,"groups",tr.Groups,"ranks",len(tr.Ranks),"calls",tr.Calls(),tr.Foreign,tr.Notes,tr.Device)
  for i,rk:=range tr.Ranks { if i>2 {break}; fmt.Println("   rank",rk.Rank,len(rk.Calls),"steps",len(rk.Steps),"unnamed",rk.Unnamed,"dam",rk.Damaged,"comp",len(rk.Computing)); for j,c:=range rk.Calls{ if j>3{break}; fmt.Printf("      %+v\n",c)}}
 }}
}
